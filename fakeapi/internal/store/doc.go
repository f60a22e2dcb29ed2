// Package store keeps API objects in memory: one increasing resource version over all of them, compare-and-swap writes,
// and a history from which lists of the past and watches are answered. It starts no goroutine.
package store
