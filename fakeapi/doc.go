// Package fakeapi is a Kubernetes API server in the process of a Go test or program: the REST API of Kubernetes v1.37 over
// objects in memory, with admission (webhooks, policies), role-based access control, audit and watches, and without
// etcd, nodes or controllers. It starts in milliseconds, listens on loopback with TLS, and any client of Kubernetes can
// talk to it: kubectl, client-go, controller-runtime, Helm.
//
// A test starts a server and makes its clients from [Server.RESTConfig]:
//
//	server, err := fakeapi.Start(t.Context(), fakeapi.Options{Load: []string{"testdata/crds", "testdata/objects.yaml"}})
//	if err != nil {
//		t.Fatal(err)
//	}
//	t.Cleanup(server.Stop)
//	client, err := kubernetes.NewForConfig(server.RESTConfig())
//
// # One server a test
//
// A server costs a few milliseconds and about a megabyte, so that each test can have its own, and none needs to clean up
// after another. Hundreds may live in one process. [Server.Stop] ends all watches and leaves no goroutine of the server
// behind; the connections of a client are the client's to close.
//
// # What is not there
//
// Nobody schedules pods, makes the pods of a Deployment or the default service account of a namespace: there are no
// controllers, but for those without which the API cannot keep its word. Namespaces that are deleted are emptied and go
// away, and so do the objects of a CustomResourceDefinition. A ClusterRole with an aggregationRule follows the roles that it
// selects, and a ValidatingAdmissionPolicy gets its status: by a write of its own that follows the client's at once, and
// that is no conflict when the client goes on from the answer it got. What a controller would do, a test does itself, by
// writing a status for example. Other differences from a kube-apiserver are listed in DEVIATIONS.md beside this package.
//
// # Admission
//
// Webhooks and policies are configured through the API, as in any cluster, and act from the next request on: there is no
// cache to wait for. A webhook is reached by clientConfig.url, which may be that of an [net/http/httptest.Server], or by
// clientConfig.service, for which [Options.ServiceAddresses] says where it is. [Server.Decisions] tells for each request
// which webhooks and policies were considered, and why they were called or not; [Options.Explain] prints it in plain
// words.
//
// # Time
//
// With [Options.Clock] and [Options.UIDs] what the server stamps is the same in each run. With [Options.InMemory] the server
// can live in a bubble of [testing/synctest] together with its clients: hours pass in no time there, and a test can wait
// until everything has settled, instead of polling.
//
//	synctest.Test(t, func(t *testing.T) {
//		server, err := fakeapi.Start(t.Context(), fakeapi.Options{InMemory: true})
//		...
//		time.Sleep(10 * time.Hour) // the controller resyncs
//		synctest.Wait()
//
// # Faults
//
// [Options.Faults] make what rarely happens happen: conflicts, throttling, lost answers, webhooks that are down, late or
// wrong. [Server.Restart] ends all connections and keeps the objects.
package fakeapi
