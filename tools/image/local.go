package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

// local is a registry in this process, on loopback.
type local struct {
	host   string // with its port
	server *http.Server
}

func startLocal(ctx context.Context) (local, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return local{}, fmt.Errorf("local registry start: %w", err)
	}
	quiet := log.New(io.Discard, "", 0)
	server := &http.Server{Handler: registry.New(registry.Logger(quiet)), ErrorLog: quiet, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }() // until close
	return local{host: listener.Addr().String(), server: server}, nil
}

func (l local) close() { _ = l.server.Close() }
