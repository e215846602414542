// Package archtest holds the house rules that a compiler does not: tests that read the source tree and the migrated
// schema, and name the line or the column that breaks a rule. Which package may know which is one list, floors.
//
// It owns no code. The rules of one room are tested in that room.
package archtest
