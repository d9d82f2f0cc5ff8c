import type { Evidence } from './evidence.ts';

/** A law is a check of what has happened. It says how much it looked at, so that a check that looks at nothing is noticed. */
export type Law = {
  /** Such as `L1`. */
  readonly id: string;
  readonly says: string;
  readonly check: (evidence: Evidence, verdict: Verdict) => void;
};

/** What a law found. */
export class Verdict {
  checked = 0;
  readonly violations: string[] = [];

  /** Counts the look, and a violation where the law does not hold. */
  require(holds: boolean, violation: () => string): void {
    this.checked++;
    if (!holds) this.violations.push(violation());
  }
}
