import type { Endpoint } from '../../../client/endpoints.ts';
import { asProblem, paybell } from '../../api.ts';
import { showToast } from '../../components/toasts.tsx';

type Paused = Pick<Endpoint, 'endpointId' | 'paused'>;

/** Long enough to read what a pause does, and to take it back. */
const UNDO_MS = 12_000;

/** Pauses an endpoint that is not paused, which can be undone from its toast, and resumes one that is. */
export async function setPaused({ endpointId, paused }: Paused, reload: () => Promise<void>): Promise<void> {
  const { endpoints } = paybell();
  try {
    await (paused ? endpoints.resume(endpointId) : endpoints.pause(endpointId));
    if (paused) showToast({ tone: 'good', text: 'Endpoint resumed. Held deliveries are being sent.' });
    else offerUndo(() => void setPaused({ endpointId, paused: true }, reload));
    await reload();
  } catch (error) {
    showToast({ tone: 'bad', text: `Endpoint not ${paused ? 'resumed' : 'paused'}. ${asProblem(error).detail}` });
  }
}

function offerUndo(resume: () => void): void {
  const run = () => {
    remove();
    resume();
  };
  const text = 'Endpoint paused. Its deliveries are held until you resume it. Nothing is lost.';
  const remove = showToast({ tone: 'good', text, action: { label: 'Undo', run } }, UNDO_MS);
}
