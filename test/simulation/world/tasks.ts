import type { Owner } from './owners.ts';

/** A callback that is due at a time. */
export type Task = {
  atMs: number;
  /** Decides between tasks of the same time. */
  readonly order: number;
  readonly owner: Owner | undefined;
  readonly run: () => void;
  isCancelled: boolean;
};

/** The tasks that wait, the first one on top: a binary heap. */
export class Tasks {
  readonly #heap: Task[] = [];

  get first(): Task | undefined {
    return this.#heap[0];
  }

  push(task: Task): void {
    const heap = this.#heap;
    let at = heap.push(task) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#swapIfEarlier(at, parent)) return;
      at = parent;
    }
  }

  pop(): Task | undefined {
    const heap = this.#heap;
    const [top] = heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return top;
    heap[0] = last;
    for (let at = 0; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      const child = right < heap.length && this.#isEarlier(right, left) ? right : left;
      if (child >= heap.length || !this.#swapIfEarlier(child, at)) return top;
      at = child;
    }
  }

  #isEarlier(a: number, b: number): boolean {
    const [one, other] = [this.#heap[a], this.#heap[b]];
    if (one === undefined || other === undefined) return false;
    return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);
  }

  #swapIfEarlier(a: number, b: number): boolean {
    const [one, other] = [this.#heap[a], this.#heap[b]];
    if (one === undefined || other === undefined || !this.#isEarlier(a, b)) return false;
    this.#heap[a] = other;
    this.#heap[b] = one;
    return true;
  }
}
