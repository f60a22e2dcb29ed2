// Package testproject is the root of a project in the layout of kubebuilder: a custom kind in two versions with a
// conversion webhook, defaulting and validating webhooks, a controller, and their manifests. Its own suite, written for
// envtest, runs on fakeapi unchanged, and so does its manager; that is what its tests show.
package testproject
