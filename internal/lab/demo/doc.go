// Package demo runs the product's main job from nothing to nothing in the
// laboratory and prints what happened: apply, scale up, interruption, scale
// down with a move and a node that stays, destroy. Every claim that it prints
// it has checked; a check that fails ends the demo with an error.
package demo
