package ec2sim

import (
	"cmp"
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// defaultSpotNotice is how long before a spot instance is taken EC2 warns.
const defaultSpotNotice = 2 * time.Minute

// retention is how long a terminated instance stays visible.
const retention = time.Hour

// Config is what the service needs from the rest of the simulated cloud. All
// functions must be safe for concurrent use and must not call the service
// back, but for Emit, which is called without the mutex.
type Config struct {
	Region, Account string
	Now             func() time.Time                        // nil: time.Now
	Auth            wire.Authorizer                         // IAM; required
	Emit            func(ctx context.Context, e wire.Event) // the event bus; nil: nowhere
	ResolveProfile  func(nameOrARN string) (Profile, error) // IAM's instance profiles; required for launches that name one
	// SpotRole says whether the account has the service-linked role of EC2 Spot, and creates it
	// for a caller who may; nil: it is there.
	SpotRole   func(ctx context.Context, req *wire.Request) bool
	Offered                  // instance types, zones and prices; required
	SpotNotice time.Duration // warning to interruption; 0: two minutes
	StartTime  time.Duration // pending to running; 0: at once after the launch
	StopTime   time.Duration // shutting-down to terminated; 0: at once
	// Lag is the longest time until a change is seen: a new instance or template, a state,
	// tags. It is drawn for each change; 0: changes are seen at once.
	Lag  time.Duration
	Seed uint64 // of ids; 0: ids differ in every run
}

// Profile is an instance profile of IAM. RoleARN is empty where no role was
// added to it.
type Profile struct {
	Name, ARN, ID, RoleARN string
}

// Service is the simulated EC2. Make it with New.
type Service struct {
	cfg     Config
	actions map[string]handler

	mu           sync.Mutex
	closed       bool
	random       *rand.Rand
	resources    map[string]*resource // everything that can have tags, by id
	vpcs         map[string]*vpc
	subnets      map[string]*subnet
	groups       map[string]*securityGroup
	images       map[string]*image
	templates    map[string]*template // by id
	volumes      map[string]*volume
	enis         map[string]*networkInterface
	instances    map[string]*instance // terminated ones included, for a while
	launches     int64                // counts instances, for their order
	publicIPs    int64
	reservations map[string]*reservation
	fleets       map[string][]string // fleet id -> ids of its live instances
	types        map[string]*Type
	zones        []Zone
	capacity     map[offering]int // what is left; no entry: unlimited
	quotas       map[quota]int    // vCPUs; no entry: unlimited
	tokens       map[string]tokenUse
	delay        time.Duration // until a new instance is seen by DescribeInstances
	timers       map[*time.Timer]struct{}
	watchers     []func(Instance, State, State)
	notices      []func()
	draining     bool

	needsSpotRole bool // see RequireSpotRole
	keyRefused    bool // see RefuseKey
	storms        int  // see Storm
	kept          []string
}

// New makes a service without any network, image or instance.
func New(cfg Config) *Service {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.SpotNotice = cmp.Or(cfg.SpotNotice, defaultSpotNotice)
	if cfg.Seed == 0 {
		cfg.Seed = rand.Uint64() //nolint:gosec // ids are no secrets
	}
	s := &Service{
		cfg:          cfg,
		random:       rand.New(rand.NewPCG(cfg.Seed, cfg.Seed)), //nolint:gosec // ids are no secrets
		resources:    map[string]*resource{},
		vpcs:         map[string]*vpc{},
		subnets:      map[string]*subnet{},
		groups:       map[string]*securityGroup{},
		images:       map[string]*image{},
		templates:    map[string]*template{},
		volumes:      map[string]*volume{},
		enis:         map[string]*networkInterface{},
		instances:    map[string]*instance{},
		reservations: map[string]*reservation{},
		fleets:       map[string][]string{},
		types:        map[string]*Type{},
		zones:        slices.Clone(cfg.Zones),
		capacity:     map[offering]int{},
		quotas:       map[quota]int{},
		tokens:       map[string]tokenUse{},
		timers:       map[*time.Timer]struct{}{},
	}
	for _, t := range cfg.Types {
		s.types[t.Name] = &t
	}
	s.actions = s.table()
	return s
}

// call is one request while it is served, under the service's mutex.
type call struct {
	s   *Service
	ctx context.Context
	req *wire.Request
}

// handler serves one action.
type handler func(c *call) (any, error)

// on makes a handler of a function that takes the decoded request.
func on[In any](serve func(*call, *In) (any, error)) handler {
	return func(c *call) (any, error) {
		in := new(In)
		if err := decodeForm(c.req.Form, in); err != nil {
			return nil, err
		}
		return serve(c, in)
	}
}

// Actions lists what is simulated, sorted.
func (s *Service) Actions() []string { return slices.Sorted(maps.Keys(s.actions)) }

// Serve answers one call; errors are *wire.Error.
func (s *Service) Serve(ctx context.Context, req *wire.Request) (any, error) {
	handle, ok := s.actions[req.Action]
	if !ok {
		return nil, wire.Errorf("InvalidAction", "The action %s is not valid for this web service.", req.Action)
	}
	defer s.deliver()
	s.mu.Lock()
	defer s.mu.Unlock()
	return handle(&call{s: s, ctx: ctx, req: req})
}

// Close stops the timers: no instance changes any more by itself.
func (s *Service) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for timer := range s.timers {
		timer.Stop()
	}
	clear(s.timers)
}

// after runs fn under the mutex once the delay is over; at once where there is
// none. The caller holds the mutex.
func (s *Service) after(delay time.Duration, fn func()) {
	if s.closed {
		return
	}
	if delay <= 0 {
		fn()
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(delay, func() {
		defer s.deliver()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.timers, timer)
		if !s.closed {
			fn()
		}
	})
	s.timers[timer] = struct{}{}
}

// deliver runs the notices of state changes in their order, without the
// mutex. One goroutine delivers at a time; what others add meanwhile it
// delivers too.
func (s *Service) deliver() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return
	}
	s.draining = true
	for len(s.notices) > 0 {
		notice := s.notices[0]
		s.notices = s.notices[1:]
		s.mu.Unlock()
		notice()
		s.mu.Lock()
	}
	s.draining = false
}

// emit puts an event on the bus after the mutex is free.
func (s *Service) emit(detailType, source string, resources []string, detail any) {
	if s.cfg.Emit == nil {
		return
	}
	event := wire.Event{Source: source, DetailType: detailType, Resources: resources, Detail: detail, Time: s.cfg.Now()}
	s.notices = append(s.notices, func() { s.cfg.Emit(context.Background(), event) })
}

// table lists the actions that the service knows.
func (s *Service) table() map[string]handler {
	return map[string]handler{
		"CreateFleet":                   on(createFleet),
		"RunInstances":                  on(runInstances),
		"TerminateInstances":            on(terminateInstances),
		"CreateLaunchTemplate":          on(createLaunchTemplate),
		"DeleteLaunchTemplate":          on(deleteLaunchTemplate),
		"CreateTags":                    on(createTags),
		"DeleteTags":                    on(deleteTags),
		"DescribeImages":                on(describeImages),
		"DescribeInstances":             on(describeInstances),
		"DescribeInstanceStatus":        on(describeInstanceStatus),
		"DescribeInstanceTypeOfferings": on(describeInstanceTypeOfferings),
		"DescribeLaunchTemplates":       on(describeLaunchTemplates),
		"DescribePlacementGroups":       on(describePlacementGroups),
		"DescribeSpotPriceHistory":      on(describeSpotPriceHistory),
		"DescribeTags":                  on(describeTags),
		"DescribeCapacityReservations": list[*reservation, capacityReservationItem]{
			set: "capacityReservationSet", ids: "CapacityReservationId", minPage: 1, maxPage: 1000,
			all: func(s *Service) map[string]*reservation { return s.reservations }, item: (*Service).reservationItem,
		}.byID,
		"DescribeInstanceTypes": list[*Type, typeItem]{
			set: "instanceTypeSet", ids: "InstanceType", minPage: 5, maxPage: 100, defaultPage: 100,
			all: func(s *Service) map[string]*Type { return s.types }, item: (*Service).typeItem, missing: noInstanceType,
		}.byID,
		"DescribeNetworkInterfaces": list[*networkInterface, eniItem]{
			set: "networkInterfaceSet", ids: "NetworkInterfaceId", minPage: 5, maxPage: 1000,
			all: func(s *Service) map[string]*networkInterface { return s.enis }, item: (*Service).eniItem,
		}.byID,
		"DescribeRouteTables": list[*routeTable, routeTableItem]{
			set: "routeTableSet", ids: "RouteTableId", minPage: 5, maxPage: 100, defaultPage: 100,
			all: (*Service).routeTables, item: (*Service).routeTableItem,
		}.byID,
		"DescribeSecurityGroups": list[*securityGroup, groupItem]{
			set: "securityGroupInfo", ids: "GroupId", minPage: 5, maxPage: 1000, defaultPage: 1000,
			all: func(s *Service) map[string]*securityGroup { return s.groups }, item: (*Service).groupItem,
		}.byID,
		"DescribeSubnets": list[*subnet, subnetItem]{
			set: "subnetSet", ids: "SubnetId", minPage: 5, maxPage: 1000, defaultPage: 1000,
			all: func(s *Service) map[string]*subnet { return s.subnets }, item: (*Service).subnetItem,
		}.byID,
		"DescribeVolumes": list[*volume, volumeItem]{
			set: "volumeSet", ids: "VolumeId", minPage: 5, maxPage: 1000,
			all: func(s *Service) map[string]*volume { return s.volumes }, item: (*Service).volumeItem,
		}.byID,
	}
}
