import { useState } from 'preact/hooks';
import type { SecretList } from '../../../client/secrets.ts';
import { DEFAULT_OVERLAP_HOURS, MAX_OVERLAP_HOURS } from '../../../domain/secret-overlap.ts';
import { type ApiProblem, asProblem, inputError, paybell } from '../../api.ts';
import { Dialog } from '../../components/dialog.tsx';
import { Field } from '../../components/field.tsx';
import { Icon } from '../../components/icon.tsx';
import { CopyButton, Curl } from '../../components/values/copy.tsx';
import { ProblemAlert } from '../../components/view/states.tsx';
import { OverlapTimeline } from './overlap-timeline.tsx';

const HOUR_MS = 3_600_000;
const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

type RotateProps = { onRotated: (list: SecretList) => void; onClose: () => void };

/** Explains what the overlap means for receivers before the rotation. */
export function RotateDialog({ onRotated, onClose }: RotateProps) {
  const [hours, setHours] = useState(String(DEFAULT_OVERLAP_HOURS));
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [created, setCreated] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const overlapHours = Number(hours);
  const error = inputError(problem, 'overlapHours');

  const rotate = async () => {
    setBusy(true);
    setProblem(null);
    try {
      const list = await paybell().secrets.rotate({ overlapHours });
      setCreated(list.secrets[0]?.secret ?? null);
      onRotated(list);
    } catch (failure) {
      setProblem(asProblem(failure));
    }
    setBusy(false);
  };

  if (created !== null) return <NewSecret secret={created} overlapHours={overlapHours} onClose={onClose} />;
  return (
    <Dialog title="Rotate signing secret" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void rotate();
        }}
      >
        <div class="dialog-body">
          {problem !== null && error === null ? <ProblemAlert problem={problem} /> : null}
          <Field
            label="Keep the old secret active for"
            error={error}
            hint={`0 to ${MAX_OVERLAP_HOURS} hours. If the secret has leaked, use 0 to expire it immediately.`}
          >
            {(control) => (
              <span class="with-unit">
                <input
                  {...control}
                  type="number"
                  min={0}
                  max={MAX_OVERLAP_HOURS}
                  step={1}
                  required
                  value={hours}
                  onInput={(event) => setHours(event.currentTarget.value)}
                />
                hours
              </span>
            )}
          </Field>
          <OverlapTimeline overlap={overlapHours > 0} end={endText(overlapHours)} />
          <Consequences overlapHours={overlapHours} />
          <details>
            <summary>Equivalent API request</summary>
            <Curl method="POST" path="/webhooks/secret/rotate" body={{ overlapHours }} />
          </details>
        </div>
        <footer class="dialog-foot">
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="button button-primary" disabled={busy}>
            {busy ? 'Rotating…' : 'Rotate secret'}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

function endText(overlapHours: number): string {
  const endsAt = new Date(Date.now() + overlapHours * HOUR_MS);
  return Number.isNaN(endsAt.getTime()) ? '' : dateTime.format(endsAt);
}

function Consequences({ overlapHours }: { overlapHours: number }) {
  if (overlapHours > 0) {
    return (
      <p class="muted">
        Until then, every request carries both signatures, so receivers can verify it with either secret. Update them
        before the old secret expires.
      </p>
    );
  }
  return (
    <p class="alert alert-warning">
      <Icon name="alert" />
      <span>
        Receivers that still use the old secret will reject every request until you update them. Rejected deliveries are
        retried on schedule.
      </span>
    </p>
  );
}

function NewSecret({ secret, overlapHours, onClose }: { secret: string; overlapHours: number; onClose: () => void }) {
  return (
    <Dialog title="New secret is active" onClose={onClose}>
      <div class="dialog-body">
        <p>
          {overlapHours > 0 ? (
            <>
              Update your receivers before <strong>{endText(overlapHours)}</strong>, when the old secret expires.
            </>
          ) : (
            'Update your receivers now. The old secret has expired.'
          )}
        </p>
        <div class="secret-text">
          <code>{secret}</code>
          <span class="actions">
            <CopyButton text={secret} label="Copy" />
          </span>
        </div>
      </div>
      <footer class="dialog-foot">
        <button type="button" class="button button-primary" onClick={onClose}>
          Done
        </button>
      </footer>
    </Dialog>
  );
}
