package fakeapi_test

import (
	"context"
	"fmt"
	"log"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
)

func Example() {
	ctx := context.Background()
	server, err := fakeapi.Start(ctx, fakeapi.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Stop()

	client := kubernetes.NewForConfigOrDie(server.RESTConfig())
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "probe"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "probe", Image: "probe"}}},
	}
	created, err := client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(created.Spec.RestartPolicy)
	// Output: Always
}
