import { useEffect, useState } from 'preact/hooks';
import { BoundedMap } from '../../../bounded-map.ts';
import { createObservable, useObservable } from '../../observable.ts';

/** All relative times share one timer instead of running one for each row. */
const nowMs = createObservable(Date.now());
const TICK_MS = 10_000;
setInterval(() => nowMs.set(Date.now()), TICK_MS);

const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'narrow' });
const shortDateTime = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
});
const shortTime = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const mediumDate = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });
const fullDateTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' });
const mediumDateTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });

const MINUTE_S = 60;
const HOUR_S = 3_600;
const DAY_S = 86_400;

/** A time in Unix seconds: relative within a day, otherwise a date. The exact time, in the viewer's zone, is the tooltip. */
export function Time({ seconds }: { seconds: number }) {
  useObservable(nowMs);
  // Uses the current time, and not the last tick, because events since the tick would be in the future.
  const now = Date.now() / 1000;
  const date = new Date(seconds * 1000);
  return (
    <time class="time" dateTime={date.toISOString()} title={exactText(seconds)}>
      {relativeText(seconds - now) ?? dateText(date, now)}
    </time>
  );
}

/** When something is due. A time that has passed is not in the past: it is done as soon as its turn comes. */
export function DueTime({ seconds }: { seconds: number }) {
  useObservable(nowMs);
  if (seconds * 1000 > Date.now()) return <Time seconds={seconds} />;
  return (
    <time class="time" dateTime={new Date(seconds * 1000).toISOString()} title={exactText(seconds)}>
      due now
    </time>
  );
}

/** The date and the time of day, however long ago: for records, which are compared with others. */
export function DateTime({ seconds }: { seconds: number }) {
  const date = new Date(seconds * 1000);
  return (
    <time class="time" dateTime={date.toISOString()} title={exactText(seconds)}>
      {mediumDateTime.format(date)}
    </time>
  );
}

const MAX_CACHED = 1_000;
const exactTexts = new BoundedMap<number, string>(MAX_CACHED);

/** Cached, because `Intl` formatting is slow and rows of a busy list share their seconds. */
function exactText(seconds: number): string {
  const cached = exactTexts.get(seconds);
  if (cached !== undefined) return cached;
  const text = `${fullDateTime.format(new Date(seconds * 1000))} · Unix ${seconds}`;
  exactTexts.set(seconds, text);
  return text;
}

/** The time of day with seconds, for events close to each other. */
export function ClockTime({ milliseconds }: { milliseconds: number }) {
  const date = new Date(milliseconds);
  return (
    <time class="time" dateTime={date.toISOString()} title={`${fullDateTime.format(date)} · Unix ms ${milliseconds}`}>
      {clock.format(date)}
    </time>
  );
}

/** The start of a state that still lasts: the time of day and, for another day, the date. */
export function Moment({ seconds }: { seconds: number }) {
  return (
    <time class="time" dateTime={new Date(seconds * 1000).toISOString()} title={exactText(seconds)}>
      {momentText(seconds)}
    </time>
  );
}

export function momentText(seconds: number): string {
  const date = new Date(seconds * 1000);
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday ? shortTime.format(date) : dateText(date, Date.now() / 1000);
}

function relativeText(deltaS: number): string | null {
  const distanceS = Math.abs(deltaS);
  if (distanceS < 5) return 'now';
  if (distanceS < MINUTE_S) return relative.format(Math.round(deltaS), 'second');
  if (distanceS < HOUR_S) return relative.format(Math.round(deltaS / MINUTE_S), 'minute');
  if (distanceS < DAY_S) return relative.format(Math.round(deltaS / HOUR_S), 'hour');
  return null;
}

function dateText(date: Date, nowS: number): string {
  return date.getFullYear() === new Date(nowS * 1000).getFullYear()
    ? shortDateTime.format(date)
    : mediumDate.format(date);
}

/** The seconds left until a time, after which it is due. */
export function DueCountdown({ untilMs }: { untilMs: number }) {
  const leftS = useSecondsUntil(untilMs);
  return leftS === 0 ? (
    <>due now</>
  ) : (
    <>
      in <span class="number">{leftS} s</span>
    </>
  );
}

/** The seconds left until a time. */
export function Countdown({ untilMs }: { untilMs: number }) {
  return <span class="number">{useSecondsUntil(untilMs)} s</span>;
}

function useSecondsUntil(untilMs: number): number {
  const [leftS, setLeftS] = useState(() => secondsUntil(untilMs));
  useEffect(() => {
    setLeftS(secondsUntil(untilMs));
    const timer = setInterval(() => setLeftS(secondsUntil(untilMs)), 250);
    return () => clearInterval(timer);
  }, [untilMs]);
  return leftS;
}

function secondsUntil(untilMs: number): number {
  return Math.max(0, Math.ceil((untilMs - Date.now()) / 1000));
}
