import { asProblem } from '../api.ts';
import { showToast } from './toasts.tsx';

/** Long enough to read what an action did, and to decide. */
const UNDO_MS = 12_000;

/**
 * Runs an action and shows that it is done, or why it failed. `failed` is the beginning of the failure message. With
 * `undo`, the message offers to undo the action.
 */
export async function runAction(
  run: () => Promise<unknown>,
  done: string,
  failed: string,
  undo?: () => void,
): Promise<boolean> {
  try {
    await run();
  } catch (error) {
    showToast({ tone: 'bad', text: `${failed} ${asProblem(error).detail}` });
    return false;
  }
  if (undo === undefined) {
    showToast({ tone: 'good', text: done });
    return true;
  }
  const undoNow = () => {
    remove();
    undo();
  };
  const remove = showToast({ tone: 'good', text: done, action: { label: 'Undo', run: undoNow } }, UNDO_MS);
  return true;
}
