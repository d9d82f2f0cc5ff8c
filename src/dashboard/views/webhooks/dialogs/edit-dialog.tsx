import { useState } from 'preact/hooks';
import type { Webhook } from '../../../../client/types.ts';
import { type ApiProblem, asProblem, faultOf, paybell } from '../../../api.ts';
import { Dialog } from '../../../components/dialog.tsx';
import { Field } from '../../../components/field.tsx';
import { Notice } from '../../../components/lists/states.tsx';
import { showToast } from '../../../components/toasts.tsx';
import { Network } from '../../../components/values/network.tsx';
import { useResponse } from '../../../use-response.ts';
import { noteWebhooksChanged } from '../changed-signal.ts';

/** The URL is the one thing about a webhook that can change. */
export function EditDialog({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [busy, setBusy] = useState(false);
  // Its tag lets the server refuse a change to something that somebody else has changed meanwhile.
  const tagged = useResponse(webhook.webhookId, (signal) =>
    paybell().webhooks.getTagged(webhook.webhookId, { signal }),
  );

  const save = async (postUrl: string) => {
    setBusy(true);
    try {
      const unchanged = tagged.data === null ? {} : { ifMatch: tagged.data.etag };
      await paybell().webhooks.change(webhook.webhookId, { postUrl }, unchanged);
      showToast({ tone: 'good', text: 'The webhook was moved. Posts that wait for it go to the new URL.' });
      noteWebhooksChanged();
      onClose();
    } catch (error) {
      setProblem(asProblem(error));
      setBusy(false);
    }
  };

  const fault = faultOf(problem, 'postUrl');
  return (
    <Dialog title="Move a webhook" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void save(String(new FormData(event.currentTarget).get('postUrl') ?? ''));
        }}
      >
        <div class="dialog-body">
          {problem !== null && fault === null ? <Notice problem={problem} /> : null}
          <p>
            <strong>{webhook.event}</strong> on <Network networkId={webhook.networkId} />
          </p>
          <Field label="Post to" fault={fault} hint="Posts that wait for this webhook go to the new URL.">
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
