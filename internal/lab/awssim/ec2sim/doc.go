// Package ec2sim is the simulated Amazon EC2 of one account in one region.
//
// It owns networks (VPCs, subnets, security groups), images, launch templates,
// instant fleets, instances with their volumes and network interfaces, tags,
// capacity reservations, and the capacity of every offering. It implements
// wire.Service: the front end authenticates a call and hands it over; the
// service decodes the form of the EC2 query protocol, asks IAM, changes its
// state and answers with a struct whose xml tags are the member names of the
// EC2 API model. What an action lists can be filtered by the fields of its items
// that have a filter tag.
//
// Invariants: all state lies behind one mutex; there is no goroutine but
// timers; watchers and events are delivered in the order of the changes,
// outside of the mutex. A request parameter that is not understood is an
// error, never ignored. What one call shows, every other call agrees with: an
// address in use is missing from its subnet's free count, an instance's
// volumes and interfaces go with it, tags are the same in every answer.
//
// Units: memory in MiB (as the API) or bytes (where named so), volumes in GiB,
// prices in nano-dollars an hour.
package ec2sim
