import { readdirSync } from 'node:fs';
import type { Registry } from './registry.ts';

const LAG_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];
const LAG_EVERY_MS = 500;

/** Under the names that every dashboard knows, but for the lag of the event loop, which has none. Answers how to stop. */
export function observeProcess(registry: Registry): () => void {
  const startedAtS = Date.now() / 1000 - process.uptime();
  registry.read('process_start_time_seconds', 'When the process began, in Unix time.', () => startedAtS);
  registry.read('process_cpu_seconds_total', 'Processor time used.', cpuSeconds, 'counter');
  registry.read('process_resident_memory_bytes', 'Memory held.', () => process.memoryUsage.rss());
  registry.read('process_open_fds', 'Files and sockets open.', openFiles);
  return observeLag(registry);
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** Only where the system shows them as files. */
function openFiles(): number | null {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return null;
  }
}

/** How late a timer is says how long everything else had to wait; the runtime's own monitor of it reads zero here. */
function observeLag(registry: Registry): () => void {
  const lag = registry.histogram(
    'paybell_event_loop_lag_seconds',
    `How late a timer was, every ${LAG_EVERY_MS} ms.`,
    LAG_SECONDS,
  );
  let dueAtMs = performance.now() + LAG_EVERY_MS;
  const timer = setInterval(() => {
    const nowMs = performance.now();
    lag.observe(Math.max(0, nowMs - dueAtMs) / 1000);
    dueAtMs = nowMs + LAG_EVERY_MS;
  }, LAG_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
