import { readdirSync } from 'node:fs';
import type { Histogram, Registry } from './registry.ts';

const LAG_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];
const LAG_EVERY_MS = 500;

/** The standard process metrics, under the names that Prometheus client libraries use. */
export function observeProcess(registry: Registry): void {
  const startedAtS = Date.now() / 1000 - process.uptime();
  registry.read('process_start_time_seconds', 'Start time of the process in Unix seconds.', () => startedAtS);
  registry.read('process_cpu_seconds_total', 'CPU time used, user and system, in seconds.', cpuSeconds, 'counter');
  registry.read('process_resident_memory_bytes', 'Resident memory in bytes.', () => process.memoryUsage.rss());
  registry.read('process_open_fds', 'Open file descriptors.', openFiles);
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** Null if the system has no /proc. */
function openFiles(): number | null {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return null;
  }
}

/** Measures how late a timer fires, because the runtime's own `monitorEventLoopDelay` always reports zero. */
export class EventLoopLag {
  readonly #lag: Histogram;
  #timer: Timer | undefined;

  constructor(registry: Registry) {
    this.#lag = registry.histogram(
      'paybell_event_loop_lag_seconds',
      `Delay of a timer that fires every ${LAG_EVERY_MS} ms.`,
      LAG_SECONDS,
    );
  }

  start(): void {
    let dueAtMs = performance.now() + LAG_EVERY_MS;
    this.#timer = setInterval(() => {
      const nowMs = performance.now();
      this.#lag.observe(Math.max(0, nowMs - dueAtMs) / 1000);
      dueAtMs = nowMs + LAG_EVERY_MS;
    }, LAG_EVERY_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
