//go:build !race

package ciconfig

const raceCost = 1
