package awssim

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// PodIdentityAgent stands for the agent that EKS runs on each node, which exchanges the
// token of a pod's service account for credentials of the associated role.
//
// Assumed, as AWS does not publish it as an interface: that the agent does the exchange
// itself, where the real one calls eks-auth:AssumeRoleForPodIdentity with the node's
// credentials; the texts of refusals; and that it listens on 127.0.0.1, where the real one
// has 169.254.170.23. AWS's SDKs take both addresses, and loopback only without TLS. The
// members of the answer are those that the SDKs read of a container's credentials.
type PodIdentityAgent struct {
	// URL is for AWS_CONTAINER_CREDENTIALS_FULL_URI. The token's file is named by
	// AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE.
	URL    string
	server *http.Server
}

// StartPodIdentityAgent listens on a free port of 127.0.0.1 for pods of the cluster, and
// serves until Close.
func (c *Cloud) StartPodIdentityAgent(clusterName string) (*PodIdentityAgent, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for pod identity agent: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/credentials", func(w http.ResponseWriter, r *http.Request) { c.servePod(w, r, clusterName) })
	a := &PodIdentityAgent{URL: "http://" + listener.Addr().String() + "/v1/credentials", server: &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}}
	go func() {
		if err := a.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			c.options.Logger.Error("pod identity agent stopped", "error", err)
		}
	}()
	return a, nil
}

// Close stops the agent.
func (a *PodIdentityAgent) Close() error { return a.server.Close() }

// servePod answers one pod.
func (c *Cloud) servePod(w http.ResponseWriter, r *http.Request, clusterName string) {
	key, err := c.podCredentials(r, clusterName)
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		refusal := asWireError(err)
		if !errors.As(err, new(*wire.Error)) {
			refusal = &wire.Error{Code: "AccessDeniedException", Message: err.Error()}
		}
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"code": refusal.Code, "message": refusal.Message})
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]string{
		"AccessKeyId": key.AccessKeyID, "SecretAccessKey": key.SecretAccessKey, "Token": key.SessionToken,
		"AccountId": c.options.Account, "Expiration": key.Expiration.UTC().Format(time.RFC3339),
	})
}

func (c *Cloud) podCredentials(r *http.Request, clusterName string) (Credentials, error) {
	issuer, ok := c.EKS.Issuer(clusterName)
	if !ok {
		return Credentials{}, fmt.Errorf("%w: there is no cluster %s", ErrNoCredentials, clusterName)
	}
	pod, err := c.STS.PodToken(r.Context(), r.Header.Get("Authorization"), issuer)
	if err != nil {
		return Credentials{}, err
	}
	association, ok := c.EKS.PodAssociationOf(clusterName, pod.Namespace, pod.ServiceAccount)
	if !ok {
		return Credentials{}, fmt.Errorf("%w: cluster %s has no association for service account %s/%s", ErrNoCredentials, clusterName, pod.Namespace, pod.ServiceAccount)
	}
	session := association.PodSession
	session.PodName, session.PodUID = pod.PodName, pod.PodUID
	key, err := c.STS.ForPod(session)
	if err != nil {
		return Credentials{}, fmt.Errorf("%w: %w", ErrNoCredentials, err)
	}
	return credentialsOf(key), nil
}
