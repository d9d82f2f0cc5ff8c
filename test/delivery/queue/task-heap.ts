type Task = { readonly atMs: number; readonly order: number; readonly run: () => void };

/** What will happen in virtual time: a binary heap, the earliest task first, those of one moment as they came. */
export class TaskHeap {
  readonly #tasks: Task[] = [];
  #order = 0;

  push(atMs: number, run: () => void): void {
    const task = { atMs, order: this.#order++, run };
    const heap = this.#tasks;
    let index = heap.push(task) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || isBefore(above, task)) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = task;
  }

  /** Takes the first task, unless it is later than that. */
  popUntil(untilMs: number): Task | null {
    const heap = this.#tasks;
    const first = heap[0];
    if (first === undefined || first.atMs > untilMs) return null;
    const last = heap.pop();
    if (last !== undefined && heap.length > 0) this.#sink(last);
    return first;
  }

  #sink(task: Task): void {
    const heap = this.#tasks;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      const [left, right] = [heap[child], heap[child + 1]];
      if (left === undefined) break;
      if (right !== undefined && isBefore(right, left)) child++;
      const next = heap[child];
      if (next === undefined || isBefore(task, next)) break;
      heap[index] = next;
      index = child;
    }
    heap[index] = task;
  }
}

function isBefore(a: Task, b: Task): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
