import { useEffect, useState } from 'preact/hooks';
import { BoundedMap } from '../../../domain/bounded-map.ts';
import { createStore, useStore } from '../../observable.ts';

/** One clock for all times in view: a timer for each of a hundred rows would wake the page a hundred times. */
const nowMs = createStore(Date.now());
const TICK_MS = 10_000;
setInterval(() => nowMs.set(Date.now()), TICK_MS);

const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'narrow' });
const thisYear = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
});
const dated = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });
const exactly = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' });
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });

const MINUTE_S = 60;
const HOUR_S = 3_600;
const DAY_S = 86_400;

/** A moment in Unix seconds, near ones by their distance; the exact one, in the viewer's zone, on hover. */
export function Time({ seconds }: { seconds: number }) {
  const now = useStore(nowMs) / 1000;
  const date = new Date(seconds * 1000);
  return (
    <time class="time" dateTime={date.toISOString()} title={exactText(seconds)}>
      {near(seconds - now) ?? distant(date, now)}
    </time>
  );
}

const MAX_KEPT = 1_000;
const exactTexts = new BoundedMap<number, string>(MAX_KEPT);

/** Kept, because it takes the browser long to write it out and the rows of a busy list share their seconds. */
function exactText(seconds: number): string {
  const kept = exactTexts.get(seconds);
  if (kept !== undefined) return kept;
  const text = `${exactly.format(new Date(seconds * 1000))} · Unix ${seconds}`;
  exactTexts.set(seconds, text);
  return text;
}

/** A moment in Unix milliseconds by the clock, for things that follow each other closely. */
export function ClockTime({ milliseconds }: { milliseconds: number }) {
  const date = new Date(milliseconds);
  return (
    <time class="time" dateTime={date.toISOString()} title={`${exactly.format(date)} · Unix ms ${milliseconds}`}>
      {clock.format(date)}
    </time>
  );
}

function near(deltaS: number): string | null {
  const distanceS = Math.abs(deltaS);
  if (distanceS < 5) return 'now';
  if (distanceS < MINUTE_S) return relative.format(Math.round(deltaS), 'second');
  if (distanceS < HOUR_S) return relative.format(Math.round(deltaS / MINUTE_S), 'minute');
  if (distanceS < DAY_S) return relative.format(Math.round(deltaS / HOUR_S), 'hour');
  return null;
}

function distant(date: Date, nowS: number): string {
  return date.getFullYear() === new Date(nowS * 1000).getFullYear() ? thisYear.format(date) : dated.format(date);
}

/** Seconds left until a moment, drawn every second while anybody looks. */
export function Countdown({ untilMs }: { untilMs: number }) {
  const [leftS, setLeftS] = useState(() => secondsUntil(untilMs));
  useEffect(() => {
    setLeftS(secondsUntil(untilMs));
    const timer = setInterval(() => setLeftS(secondsUntil(untilMs)), 250);
    return () => clearInterval(timer);
  }, [untilMs]);
  return <span class="number">{leftS} s</span>;
}

function secondsUntil(untilMs: number): number {
  return Math.max(0, Math.ceil((untilMs - Date.now()) / 1000));
}
