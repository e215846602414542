// Package sorting sorts as package slices does, with one algorithm for all types: slices compiles all of it, some 20 kB, for each type that is
// sorted by a function. What is sorted here is a page or a file, where the difference in time is not felt.
package sorting

import (
	"iter"
	"slices"
	"sort"
)

// By sorts a list.
func By[T any](list []T, compare func(a, b T) int) { sort.Sort(&sorter[T]{list, compare}) }

// Stably sorts a list, and leaves equals in their order.
func Stably[T any](list []T, compare func(a, b T) int) { sort.Stable(&sorter[T]{list, compare}) }

// All collects values and sorts them.
func All[T any](values iter.Seq[T], compare func(a, b T) int) []T {
	list := slices.Collect(values)
	By(list, compare)
	return list
}

type sorter[T any] struct {
	list    []T
	compare func(a, b T) int
}

func (s *sorter[T]) Len() int           { return len(s.list) }
func (s *sorter[T]) Less(i, j int) bool { return s.compare(s.list[i], s.list[j]) < 0 }
func (s *sorter[T]) Swap(i, j int)      { s.list[i], s.list[j] = s.list[j], s.list[i] }
