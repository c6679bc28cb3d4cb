package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
)

// lastWords is how long one direction of a forwarded connection may go on when
// the other has ended, as with containerd, and how long a client may take to
// hear how its command ended.
const lastWords = time.Second

// errEnded says that a stream came too late.
var errEnded = errors.New("the connection has ended")

// portForward joins streams of a connection to ports of a pod.
func (s *server) portForward(w http.ResponseWriter, r *http.Request) {
	p, ok := s.pod(w, r)
	if !ok {
		return
	}
	options, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	stop := closeAfter(p.network, r, 0)
	defer stop()
	f := &forwarding{pod: p, life: r.Context()}
	portforward.ServePortForward(w, r, f, p.object.Name, string(p.object.UID), options,
		idleTimeout, remotecommand.DefaultStreamCreationTimeout, portforward.SupportedProtocols)
	f.calls.wait()
}

// forwarding is one kubectl port-forward.
type forwarding struct {
	pod   *pod
	life  context.Context // of the client's connection
	calls calls           // the library does not wait for them
}

// PortForward joins one stream to a port of the pod's localhost, as containerd
// does: what listens on the pod's address alone is not found.
func (f *forwarding) PortForward(_ context.Context, name, _ string, port int32, stream io.ReadWriteCloser) error {
	if !f.calls.begin() {
		return errEnded
	}
	defer f.calls.end()
	life, end := context.WithCancel(f.life) // the library gives a context that never ends
	defer end()
	conn, err := (&net.Dialer{}).DialContext(life, "tcp4", net.JoinHostPort(f.pod.address.loopback, strconv.Itoa(int(port))))
	if err != nil {
		awaitReply(life, stream)
		return fmt.Errorf("failed to execute portforward: failed to connect to localhost:%d inside namespace %q, IPv4: %w", port, name, err)
	}
	defer conn.Close()
	stop := context.AfterFunc(life, func() { _ = conn.Close() })
	defer stop()
	ends := make(chan error, 2)
	go func() { // both end with the two connections
		_, err := io.Copy(stream, conn)
		ends <- err
	}()
	go func() {
		_, err := io.Copy(conn, stream)
		ends <- err
	}()
	select {
	case err = <-ends:
	case <-life.Done():
		return nil
	}
	select {
	case other := <-ends:
		return errors.Join(err, other)
	case <-time.After(lastWords):
		return err
	case <-life.Done():
		return nil
	}
}

// awaitReply returns when the client knows that it has the stream. The library
// resets a stream after an error, and a client whose stream is reset before
// reports that instead of the error. Any write waits for the reply, also one of
// nothing.
func awaitReply(life context.Context, stream io.Writer) {
	replied := make(chan struct{})
	go func() {
		defer close(replied)
		_, _ = stream.Write(nil)
	}()
	select {
	case <-replied:
	case <-life.Done():
	}
}
