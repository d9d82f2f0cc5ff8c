import { useState } from 'preact/hooks';
import type { Webhook } from '../../../../client/webhooks.ts';
import { type ApiProblem, asProblem, inputError, paybell } from '../../../api.ts';
import { Dialog } from '../../../components/dialog.tsx';
import { Field } from '../../../components/field.tsx';
import { showToast } from '../../../components/toasts.tsx';
import { Network } from '../../../components/values/network.tsx';
import { ProblemAlert } from '../../../components/view/states.tsx';
import { useResponse } from '../../../use-response.ts';
import { bumpWebhooksRevision } from '../revision.ts';

/** Only the URL of a webhook can change. */
export function EditDialog({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [busy, setBusy] = useState(false);
  // With the ETag, the server rejects the change if the webhook was changed in the meantime.
  const tagged = useResponse(webhook.webhookId, (signal) =>
    paybell().webhooks.getTagged(webhook.webhookId, { signal }),
  );

  const save = async (postUrl: string) => {
    setBusy(true);
    try {
      const precondition = tagged.data === null ? {} : { ifMatch: tagged.data.etag };
      await paybell().webhooks.change(webhook.webhookId, { postUrl }, precondition);
      showToast({ tone: 'good', text: 'Webhook updated. Pending deliveries will be sent to the new URL.' });
      bumpWebhooksRevision();
      onClose();
    } catch (error) {
      setProblem(asProblem(error));
      setBusy(false);
    }
  };

  const urlError = inputError(problem, 'postUrl');
  return (
    <Dialog title="Edit webhook" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void save(String(new FormData(event.currentTarget).get('postUrl') ?? ''));
        }}
      >
        <div class="dialog-body">
          {problem !== null && urlError === null ? <ProblemAlert problem={problem} /> : null}
          <p>
            <strong>{webhook.event}</strong> on <Network networkId={webhook.networkId} />
          </p>
          <Field label="Endpoint URL" error={urlError} hint="Pending deliveries will be sent to the new URL.">
            {(control) => (
              <input
                {...control}
                name="postUrl"
                type="text"
                inputmode="url"
                class="mono"
                required
                defaultValue={webhook.postUrl}
              />
            )}
          </Field>
        </div>
        <footer class="dialog-foot">
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="button button-primary" disabled={busy}>
            {busy ? 'Saving…' : 'Save'}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
