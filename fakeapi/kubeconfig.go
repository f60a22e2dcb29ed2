package fakeapi

import (
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig returns a kubeconfig file for the administrator, as YAML. It holds a bearer token: whoever can read it can
// do everything on the server. It leads nowhere if the server is InMemory.
func (s *Server) Kubeconfig() []byte {
	const name = "gatehouse"
	rest := s.RESTConfig()
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: rest.Host, CertificateAuthorityData: rest.CAData}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: rest.BearerToken}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	data, err := clientcmd.Write(*config)
	if err != nil {
		panic(fmt.Sprintf("fakeapi: encoding a kubeconfig: %v", err)) // it is made of strings alone
	}
	return data
}
