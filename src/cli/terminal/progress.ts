import { isFullTerminal } from './output.ts';
import { terminal } from './terminal.ts';

/** The least time between two drawings, because drawing can take longer than the work. */
const REDRAW_MS = 100;
const BAR_WIDTH = 30;

type Screen = { isTTY?: boolean; write(text: string): unknown };

/** The progress of a long command, on one line of the terminal. Prints nothing without a terminal. */
export class Progress {
  #drawnAtMs = Number.NEGATIVE_INFINITY;
  #shown = false;

  constructor(
    private readonly screen: Screen = terminal().stderr,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** `share` is from 0 to 1, or null when the total is unknown. */
  show(share: number | null, text: string): void {
    if (!isFullTerminal(this.screen) || this.nowMs() - this.#drawnAtMs < REDRAW_MS) return;
    this.#drawnAtMs = this.nowMs();
    this.#shown = true;
    this.screen.write(`\r\x1b[2K${share === null ? '' : `${bar(share)} `}${text}`);
  }

  /** Call this before anything else is written to the terminal. */
  clear(): void {
    if (!this.#shown) return;
    this.#shown = false;
    this.screen.write('\r\x1b[2K');
  }
}

function bar(share: number): string {
  const filled = Math.round(Math.min(Math.max(share, 0), 1) * BAR_WIDTH);
  return `${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)} ${Math.floor(share * 100)} %`;
}
