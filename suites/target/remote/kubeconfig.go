package remote

import (
	"errors"
	"fmt"
	"net/http"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// kubeconfigOf writes a client's configuration as a kubeconfig file. Functions cannot be written: it is an error when the
// configuration depends on one.
func kubeconfigOf(config *rest.Config) ([]byte, error) {
	if config.Transport != nil || config.WrapTransport != nil || config.Dial != nil || config.AuthProvider != nil {
		return nil, errors.New("the connection to the API server cannot be written as a kubeconfig file")
	}
	cluster := &clientcmdapi.Cluster{
		Server: config.Host, TLSServerName: config.ServerName, InsecureSkipTLSVerify: config.Insecure,
		CertificateAuthority: config.CAFile, CertificateAuthorityData: config.CAData, DisableCompression: config.DisableCompression,
	}
	if config.Proxy != nil {
		request, err := http.NewRequest(http.MethodGet, config.Host, nil)
		if err != nil {
			return nil, fmt.Errorf("the API server's address: %w", err)
		}
		proxy, err := config.Proxy(request)
		if err != nil {
			return nil, fmt.Errorf("the proxy to the API server: %w", err)
		}
		if proxy != nil {
			cluster.ProxyURL = proxy.String()
		}
	}
	user := &clientcmdapi.AuthInfo{
		ClientCertificate: config.CertFile, ClientCertificateData: config.CertData,
		ClientKey: config.KeyFile, ClientKeyData: config.KeyData,
		Token: config.BearerToken, TokenFile: config.BearerTokenFile,
		Username: config.Username, Password: config.Password,
		Impersonate: config.Impersonate.UserName, ImpersonateUID: config.Impersonate.UID,
		ImpersonateGroups: config.Impersonate.Groups, ImpersonateUserExtra: config.Impersonate.Extra,
		Exec: config.ExecProvider,
	}
	const name = "target"
	return clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: cluster},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: user},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	})
}
