import type { Browser, Page } from 'playwright-core';

/** What the browser itself has recorded about its main thread between two marks that the page set. */
export type Span = {
  readonly name: string;
  /** From the mark before the input to the mark in the frame that shows what was asked for. */
  readonly shownMs: number;
  /** How long the main thread worked in it, and its longest piece of work: above 50 ms a person feels it. */
  readonly busyMs: number;
  readonly longestTaskMs: number;
  readonly longTasks: number;
  /** Of processor time alone: what is left of the longest when the machine has other things to do as well. */
  readonly longestWorkMs: number;
};

const LONG_TASK_MS = 50;

const CATEGORIES = ['devtools.timeline', 'disabled-by-default-devtools.timeline', 'blink.user_timing', 'toplevel'];

type TraceEvent = { name: string; ph: string; ts: number; dur?: number; tdur?: number; tid: number; pid: number };

/** Runs the work under Chromium's tracing and answers its spans; marks are named `<span> start` and `<span> end`. */
export async function traced(browser: Browser, page: Page, work: () => Promise<void>): Promise<Span[]> {
  await browser.startTracing(page, { categories: CATEGORIES });
  await work();
  const trace = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] };
  return spansIn(trace.traceEvents);
}

export function spansIn(events: readonly TraceEvent[]): Span[] {
  const open = new Map<string, TraceEvent>();
  const spans: Span[] = [];
  for (const event of events.toSorted((a, b) => a.ts - b.ts)) {
    const [, name = '', edge] = /^(.+) (start|end)$/.exec(event.name) ?? [];
    if (edge === 'start') open.set(name, event);
    const start = open.get(name);
    if (edge !== 'end' || start === undefined) continue;
    open.delete(name);
    spans.push({ name, shownMs: (event.ts - start.ts) / 1000, ...workIn(events, start, event.ts) });
  }
  return spans;
}

function workIn(events: readonly TraceEvent[], start: TraceEvent, endTs: number) {
  const all = events.filter(
    ({ name, ph, pid, tid }) => name === 'RunTask' && ph === 'X' && pid === start.pid && tid === start.tid,
  );
  const tasks = all
    .map(({ ts, dur = 0 }) => Math.min(ts + dur, endTs) - Math.max(ts, start.ts))
    .filter((microseconds) => microseconds > 0)
    .map((microseconds) => microseconds / 1000);
  return {
    busyMs: tasks.reduce((sum, ms) => sum + ms, 0),
    longestTaskMs: Math.max(0, ...tasks),
    longestWorkMs: Math.max(
      0,
      ...all.filter(({ ts }) => ts >= start.ts && ts < endTs).map(({ tdur = 0 }) => tdur / 1000),
    ),
    longTasks: tasks.filter((ms) => ms > LONG_TASK_MS).length,
  };
}
