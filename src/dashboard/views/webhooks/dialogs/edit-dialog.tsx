import type { Webhook } from '../../../../client/webhooks.ts';
import { inputError, paybell } from '../../../api.ts';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { TextField } from '../../../components/inputs.tsx';
import { showToast } from '../../../components/toasts.tsx';
import { Network } from '../../../components/values/network.tsx';
import { useResponse } from '../../../use-response.ts';
import { bumpWebhooksRevision } from '../revision.ts';

/** Only the URL of a webhook can change. */
export function EditDialog({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  // With the ETag, the server rejects the change if the webhook has changed since then.
  const tagged = useResponse(webhook.webhookId, (signal) =>
    paybell().webhooks.getTagged(webhook.webhookId, { signal }),
  );

  const save = async (postUrl: string) => {
    const precondition = tagged.data === null ? {} : { ifMatch: tagged.data.etag };
    await paybell().webhooks.change(webhook.webhookId, { postUrl }, precondition);
    showToast({ tone: 'good', text: 'Webhook updated. Pending deliveries will be sent to the new URL.' });
    bumpWebhooksRevision();
    onClose();
  };

  return (
    <FormDialog
      title="Edit webhook"
      submit={{ label: 'Save', busy: 'Saving…' }}
      onSubmit={(form) => save(String(form.get('postUrl') ?? ''))}
      onClose={onClose}
      fields={['postUrl']}
    >
      {(problem) => (
        <>
          <p>
            <strong>{webhook.event}</strong> on <Network networkId={webhook.networkId} />
          </p>
          <TextField
            label="Endpoint URL"
            error={inputError(problem, 'postUrl')}
            hint="Pending deliveries will be sent to the new URL."
            name="postUrl"
            inputmode="url"
            class="mono"
            required
            defaultValue={webhook.postUrl}
          />
        </>
      )}
    </FormDialog>
  );
}
