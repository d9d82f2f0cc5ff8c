import type { FactStep } from '../../../../../client/chain/facts.ts';
import type { IconName } from '../../../../components/icon.tsx';
import { countText } from '../../../../components/values/count-text.ts';
import type { Mark } from '../../../../components/values/timeline.tsx';

export type StepDisplay = {
  readonly title: string;
  readonly mark: Mark;
  readonly icon: IconName;
};

/** The words for a step in the history of a fact, which depend on the step before it. */
export function displayOf(step: FactStep, previous: FactStep | null): StepDisplay {
  const block = step.blockNumber === null ? null : `block ${countText(step.blockNumber)}`;
  if (step.isDisputed)
    return { title: `Disputed: nodes disagree about ${block ?? 'it'}`, mark: 'warning', icon: 'alert' };
  switch (step.state) {
    case 'waiting':
      return { title: 'Held until its transaction is in a block', mark: 'next', icon: 'clock' };
    case 'lost':
      return { title: `Lost: ${block ?? 'its block'} is gone`, mark: 'warning', icon: 'alert' };
    case 'retracted':
      return { title: 'Retracted', mark: 'bad', icon: 'undo' };
    case 'final':
      return { title: `Final${block === null ? '' : ` in ${block}`}`, mark: 'good', icon: 'double' };
    case 'seen':
      return { title: `${seenAs(step, previous)} ${block ?? 'a block'}`, mark: 'neutral', icon: 'check' };
  }
}

function seenAs(step: FactStep, previous: FactStep | null): string {
  if (previous === null || previous.state === 'waiting') return step.revision > 1 ? 'Seen again in' : 'Seen in';
  if (step.revision > previous.revision) return 'Seen again in';
  if (step.blockHash !== previous.blockHash) return 'Moved to';
  return previous.isDisputed ? 'Nodes agree on' : 'Back in';
}
