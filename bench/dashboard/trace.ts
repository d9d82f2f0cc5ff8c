import type { Browser, Page } from 'playwright-core';

/** What Chromium recorded about its main thread between two marks. */
export type Span = {
  readonly name: string;
  /** From the mark at the input to the mark in the frame that shows the result. */
  readonly shownMs: number;
  /** How long the main thread was busy, and its longest task: above 50 ms people notice it. */
  readonly busyMs: number;
  readonly longestTaskMs: number;
  readonly longTasks: number;
  /** The longest task in CPU time, which other load on the machine does not lengthen. */
  readonly longestWorkMs: number;
};

const LONG_TASK_MS = 50;

const CATEGORIES = ['devtools.timeline', 'disabled-by-default-devtools.timeline', 'blink.user_timing', 'toplevel'];

type TraceEvent = { name: string; ph: string; ts: number; dur?: number; tdur?: number; tid: number; pid: number };

/** Runs the work under Chromium's tracing and returns its spans. Marks are named `<span> start` and `<span> end`. */
export async function traced(browser: Browser, page: Page, work: () => Promise<void>): Promise<Span[]> {
  await browser.startTracing(page, { categories: CATEGORIES });
  await work();
  const trace = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] };
  return spansIn(trace.traceEvents);
}

function spansIn(events: readonly TraceEvent[]): Span[] {
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
