// How numbers, times and reasons are written.

/** Hours of a month, as AWS counts them. */
const hoursOfMonth = 730;

const two = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD", minimumFractionDigits: 2, maximumFractionDigits: 2 });
const four = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD", minimumFractionDigits: 4, maximumFractionDigits: 4 });
const whole = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD", maximumFractionDigits: 0 });
const plain = new Intl.NumberFormat("en-US");

export const number = (n: number): string => plain.format(n);

/** A price an hour: four digits where it is small. */
export const rate = (d: number): string => `${d !== 0 && Math.abs(d) < 1 ? four.format(d) : two.format(d)}/h`;

export const monthly = (perHour: number): string => `${whole.format(perHour * hoursOfMonth)}/month`;

export const count = (n: number, thing: string): string => `${number(n)} ${thing}${n === 1 ? "" : "s"}`;

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const dayClock = new Intl.DateTimeFormat(undefined, { weekday: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

const dateClock = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const date = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });

/** How far away a time may be, in seconds, for its weekday to say which day it is. */
const weekdays = 6 * 86400;

export const time = (at: number): string => clock.format(at * 1000);

/** A time that may be days away: with the weekday within a week, and with the date beyond. */
export const when = (at: number, now: number): string => {
  const far = Math.abs(at - now);
  return far < 12 * 3600 ? clock.format(at * 1000).slice(0, 5) : (far <= weekdays ? dayClock : dateClock).format(at * 1000);
};

/** A time that has passed, to the second; with the date where it is of another day. */
export const past = (at: number, now: number): string =>
  new Date(at * 1000).toDateString() === new Date(now * 1000).toDateString() ? time(at) : `${date.format(at * 1000)}, ${time(at)}`;

export function span(seconds: number): string {
  if (seconds < 60) return `${Math.max(0, Math.floor(seconds))} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor(seconds % 3600 / 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor(seconds % 86400 / 3600)} h`;
}

/** NotReadyYet is "not ready yet". */
export const words = (reason: string): string => reason.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();

/** How the nodes of NodePools are bought. */
export const buying = (buy: string | undefined): string => buy === undefined || buy === "" ? "not known yet" : buy;
