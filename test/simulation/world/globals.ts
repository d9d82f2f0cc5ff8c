import type { Task } from './tasks.ts';
import { world } from './world.ts';

/**
 * Replaces the timers, the clocks and the randomness of this process by those of the world. Import it before every module of
 * the service: some of them read the clock or draw a number when they are loaded.
 */

const real = { clearTimeout: globalThis.clearTimeout };

type Callback = (...values: unknown[]) => void;

class VirtualTimer {
  constructor(public task: Task) {}

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }

  cancel(): void {
    this.task.isCancelled = true;
  }
}

function setVirtualTimeout(callback: Callback, ms = 0, ...values: unknown[]): VirtualTimer {
  return new VirtualTimer(world.schedule(() => callback(...values), ms));
}

function setVirtualImmediate(callback: Callback, ...values: unknown[]): VirtualTimer {
  return new VirtualTimer(world.scheduleSoon(() => callback(...values)));
}

function setVirtualInterval(callback: Callback, ms: number, ...values: unknown[]): VirtualTimer {
  const repeat = () => {
    callback(...values);
    if (!timer.task.isCancelled) timer.task = world.schedule(repeat, ms);
  };
  const timer = new VirtualTimer(world.schedule(repeat, ms));
  return timer;
}

/** A timer that was set before the timers were replaced is a real one. */
function clearVirtual(timer: unknown): void {
  if (timer instanceof VirtualTimer) timer.cancel();
  else if (timer != null) real.clearTimeout(timer as Parameters<typeof clearTimeout>[0]);
}

function fillWithRandom<Bytes extends ArrayBufferView>(bytes: Bytes): Bytes {
  world.random.fill(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  return bytes;
}

Object.assign(globalThis, {
  setTimeout: setVirtualTimeout,
  setImmediate: setVirtualImmediate,
  setInterval: setVirtualInterval,
  clearTimeout: clearVirtual,
  clearImmediate: clearVirtual,
  clearInterval: clearVirtual,
});
Object.assign(Bun, { sleep: (ms: number) => world.sleep(ms) });
Object.assign(performance, { now: () => world.nowMs });
Object.assign(Date, { now: () => world.wallMs });
Object.assign(Math, { random: () => world.random.next() });
Object.assign(crypto, { getRandomValues: fillWithRandom });
