package controller

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	netv1 "github.com/gatehouse-dev/gatehouse/fakeapi/internal/testproject/api/v1"
	netv2 "github.com/gatehouse-dev/gatehouse/fakeapi/internal/testproject/api/v2"
)

var _ = Describe("Relay", Ordered, func() {
	const timeout = 30 * time.Second
	var namespace *corev1.Namespace

	BeforeAll(func() {
		namespace = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "relays-"}}
		Expect(k8sClient.Create(ctx, namespace)).To(Succeed())
	})

	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace.Name, Name: name} }

	It("fills in what is left out", func() {
		relay := &netv1.Relay{ObjectMeta: named("defaulted"), Spec: netv1.RelaySpec{Target: "db"}}
		Expect(k8sClient.Create(ctx, relay)).To(Succeed())
		Expect(relay.Spec).To(Equal(netv1.RelaySpec{Target: "db:80", Replicas: new(int32(2))}))

		By("in the other version too")
		relay2 := &netv2.Relay{ObjectMeta: named("defaulted-v2"), Spec: netv2.RelaySpec{Host: "db"}}
		Expect(k8sClient.Create(ctx, relay2)).To(Succeed())
		Expect(relay2.Spec).To(Equal(netv2.RelaySpec{Host: "db", Port: 80, Replicas: new(int32(2))}))
	})

	It("refuses targets on the same host", func() {
		err := k8sClient.Create(ctx, &netv1.Relay{ObjectMeta: named("refused"), Spec: netv1.RelaySpec{Target: "localhost:1"}})
		Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
		Expect(err).To(MatchError(ContainSubstring(`spec.target: Invalid value: "localhost:1": must lead to another host`)))

		By("in the other version too, in the words of the webhook's")
		err = k8sClient.Create(ctx, &netv2.Relay{ObjectMeta: named("refused"), Spec: netv2.RelaySpec{Host: "localhost", Port: 1}})
		Expect(err).To(MatchError(ContainSubstring(`spec.target: Invalid value: "localhost:1": must lead to another host`)))
	})

	It("checks each version by its own schema", func() {
		err := k8sClient.Create(ctx, &netv2.Relay{ObjectMeta: named("refused"), Spec: netv2.RelaySpec{Host: "db", Port: 70000}})
		Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
		Expect(err).To(MatchError(ContainSubstring("spec.port")))
	})

	It("converts between the versions", func() {
		Expect(k8sClient.Create(ctx, &netv1.Relay{ObjectMeta: named("converted"), Spec: netv1.RelaySpec{Target: "db:5432"}})).To(Succeed())

		By("reading it at v2")
		relay2 := &netv2.Relay{ObjectMeta: named("converted")}
		Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(relay2), relay2)).To(Succeed())
		Expect(relay2.Spec).To(Equal(netv2.RelaySpec{Host: "db", Port: 5432, Replicas: new(int32(2))}))

		By("updating it through v2")
		Eventually(func() error {
			if err := k8sClient.Get(ctx, client.ObjectKeyFromObject(relay2), relay2); err != nil {
				return err
			}
			relay2.Spec.Port = 5433
			return k8sClient.Update(ctx, relay2)
		}).WithTimeout(timeout).Should(Succeed())
		relay := &netv1.Relay{}
		Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(relay2), relay)).To(Succeed())
		Expect(relay.Spec.Target).To(Equal("db:5433"))

		By("patching it through v2")
		patch := client.MergeFrom(relay2.DeepCopy())
		relay2.Spec.Host = "cache"
		Expect(k8sClient.Patch(ctx, relay2, patch)).To(Succeed())
		Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(relay2), relay)).To(Succeed())
		Expect(relay.Spec.Target).To(Equal("cache:5433"))
	})

	It("is reconciled", func() {
		relay := &netv1.Relay{ObjectMeta: named("reconciled"), Spec: netv1.RelaySpec{Target: "db:5432"}}
		Expect(k8sClient.Create(ctx, relay)).To(Succeed())
		config := &corev1.ConfigMap{ObjectMeta: named("reconciled")}
		Eventually(func(g Gomega) {
			g.Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(relay), relay)).To(Succeed())
			g.Expect(meta.IsStatusConditionTrue(relay.Status.Conditions, "Ready")).To(BeTrue())
			g.Expect(relay.Status.ObservedGeneration).To(Equal(relay.Generation))
		}).WithTimeout(timeout).Should(Succeed())
		Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(config), config)).To(Succeed())
		Expect(config.Data).To(Equal(map[string]string{"target": "db:5432"}))
		Expect(metav1.IsControlledBy(config, relay)).To(BeTrue())

		By("again when it changes through v2")
		relay2 := &netv2.Relay{}
		Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(relay), relay2)).To(Succeed())
		Expect(relay2.Status.Conditions).To(Equal(relay.Status.Conditions))
		patch := client.MergeFrom(relay2.DeepCopy())
		relay2.Spec.Port = 1
		Expect(k8sClient.Patch(ctx, relay2, patch)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(config), config)).To(Succeed())
			g.Expect(config.Data).To(Equal(map[string]string{"target": "db:1"}))
			g.Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(relay), relay)).To(Succeed())
			g.Expect(relay.Status.ObservedGeneration).To(Equal(relay2.Generation))
		}).WithTimeout(timeout).Should(Succeed())

		By("keeping status and the rest apart")
		relay.Status.ObservedGeneration, relay.Spec.Target = 99, "other:1"
		Expect(k8sClient.Status().Update(ctx, relay)).To(Succeed())
		Expect(relay.Spec.Target).To(Equal("db:1"))
		Expect(relay.Generation).To(Equal(relay2.Generation))
	})

	It("goes when its controller has cleaned up", func() {
		relay := &netv1.Relay{ObjectMeta: named("deleted"), Spec: netv1.RelaySpec{Target: "db:5432"}}
		relay.Annotations = map[string]string{"net.example.com/protected": "true"}
		Expect(k8sClient.Create(ctx, relay)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(relay), relay)).To(Succeed())
			g.Expect(relay.Finalizers).To(ConsistOf(Finalizer))
		}).WithTimeout(timeout).Should(Succeed())

		By("but not while it is protected")
		err := k8sClient.Delete(ctx, &netv2.Relay{ObjectMeta: named("deleted")})
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)

		patch := client.MergeFrom(relay.DeepCopy())
		relay.Annotations = nil
		Expect(k8sClient.Patch(ctx, relay, patch)).To(Succeed())
		Expect(k8sClient.Delete(ctx, &netv2.Relay{ObjectMeta: named("deleted")})).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(k8sClient.Get(ctx, client.ObjectKeyFromObject(relay), relay))
		}).WithTimeout(timeout).Should(BeTrue())
		config := &corev1.ConfigMap{ObjectMeta: named("deleted")}
		Expect(apierrors.IsNotFound(k8sClient.Get(ctx, client.ObjectKeyFromObject(config), config))).To(BeTrue())
	})

	It("is listed in either version, whichever is stored", func() {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		Eventually(func() error {
			if err := k8sClient.Get(ctx, client.ObjectKey{Name: "relays.net.example.com"}, definition); err != nil {
				return err
			}
			for i := range definition.Spec.Versions {
				definition.Spec.Versions[i].Storage = definition.Spec.Versions[i].Name == "v2"
			}
			return k8sClient.Update(ctx, definition)
		}).WithTimeout(timeout).Should(Succeed())
		Expect(definition.Status.StoredVersions).To(Equal([]string{"v1", "v2"}))
		Expect(k8sClient.Create(ctx, &netv1.Relay{ObjectMeta: named("stored-at-v2"), Spec: netv1.RelaySpec{Target: "db:1"}})).To(Succeed())

		var relays netv1.RelayList
		Expect(k8sClient.List(ctx, &relays, client.InNamespace(namespace.Name))).To(Succeed())
		targets := map[string]string{}
		for _, relay := range relays.Items {
			targets[relay.Name] = relay.Spec.Target
		}
		Expect(targets).To(Equal(map[string]string{
			"defaulted": "db:80", "defaulted-v2": "db:80", "converted": "cache:5433", "reconciled": "db:1", "stored-at-v2": "db:1",
		}))
		var relays2 netv2.RelayList
		Expect(k8sClient.List(ctx, &relays2, client.InNamespace(namespace.Name))).To(Succeed())
		ports := map[string]int32{}
		for _, relay := range relays2.Items {
			ports[relay.Name] = relay.Spec.Port
		}
		Expect(ports).To(Equal(map[string]int32{"defaulted": 80, "defaulted-v2": 80, "converted": 5433, "reconciled": 1, "stored-at-v2": 1}))
	})
})
