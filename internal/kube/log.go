package kube

import (
	"github.com/go-logr/logr"
	"github.com/hashicorp/go-hclog"
	"k8s.io/klog/v2"
)

// LogTo sends the log lines of client-go, which uses klog, to logger. It holds for the
// whole process, because klog's logger is global. Verbosity 0 is Info, 1 to 3 is Debug,
// more is Trace.
func LogTo(logger hclog.Logger) {
	klog.SetLogger(logr.New(&sink{logger: logger}))
}

type sink struct{ logger hclog.Logger }

func level(v int) hclog.Level {
	switch {
	case v <= 0:
		return hclog.Info
	case v <= 3:
		return hclog.Debug
	}
	return hclog.Trace
}

func (s *sink) Init(logr.RuntimeInfo) {}

func (s *sink) Enabled(v int) bool { return s.logger.GetLevel() <= level(v) }

func (s *sink) Info(v int, message string, pairs ...any) { s.logger.Log(level(v), message, pairs...) }

func (s *sink) Error(err error, message string, pairs ...any) {
	if err != nil {
		pairs = append(pairs, "error", err)
	}
	s.logger.Error(message, pairs...)
}

func (s *sink) WithValues(pairs ...any) logr.LogSink { return &sink{logger: s.logger.With(pairs...)} }

func (s *sink) WithName(name string) logr.LogSink { return &sink{logger: s.logger.Named(name)} }
