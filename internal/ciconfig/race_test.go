//go:build race

package ciconfig

// raceCost is how much longer code takes under the race detector.
const raceCost = 15
