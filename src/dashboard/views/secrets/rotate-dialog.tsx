import { useState } from 'preact/hooks';
import type { SecretList } from '../../../client/types.ts';
import { DEFAULT_OVERLAP_HOURS, MAX_OVERLAP_HOURS } from '../../../domain/secret-overlap.ts';
import { type ApiProblem, asProblem, faultOf, paybell } from '../../api.ts';
import { Dialog } from '../../components/dialog.tsx';
import { Field } from '../../components/field.tsx';
import { Icon } from '../../components/icon.tsx';
import { Notice } from '../../components/lists/states.tsx';
import { CopyButton, Curl } from '../../components/values/copy.tsx';
import { OverlapPicture } from './overlap-picture.tsx';

const HOUR_MS = 3_600_000;
const exactly = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

type RotateProps = { onRotated: (list: SecretList) => void; onClose: () => void };

/** A new secret, with what the overlap means for receivers said before it is made. */
export function RotateDialog({ onRotated, onClose }: RotateProps) {
  const [hours, setHours] = useState(String(DEFAULT_OVERLAP_HOURS));
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [made, setMade] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const overlapHours = Number(hours);
  const fault = faultOf(problem, 'overlapHours');

  const rotate = async () => {
    setBusy(true);
    setProblem(null);
    try {
      const list = await paybell().secrets.rotate({ overlapHours });
      setMade(list.secrets[0]?.secret ?? null);
      onRotated(list);
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  };

  if (made !== null) return <Made secret={made} overlapHours={overlapHours} onClose={onClose} />;
  return (
    <Dialog title="Rotate the signing secret" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void rotate();
        }}
      >
        <div class="dialog-body">
          {problem !== null && fault === null ? <Notice problem={problem} /> : null}
          <Field
            label="The old secret goes on signing for"
            fault={fault}
            hint={`0 to ${MAX_OVERLAP_HOURS} hours. 0 ends it at once: for a secret that has leaked.`}
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
          <OverlapPicture overlap={overlapHours > 0} end={endText(overlapHours)} />
          <Meaning overlapHours={overlapHours} />
          <details>
            <summary>The same from a terminal</summary>
            <Curl method="POST" path="/webhooks/secret/rotate" body={{ overlapHours }} />
          </details>
        </div>
        <footer class="dialog-foot">
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="button button-primary" disabled={busy}>
            {busy ? 'Rotating…' : 'Make a new secret'}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

function endText(overlapHours: number): string {
  const endsAt = new Date(Date.now() + overlapHours * HOUR_MS);
  return Number.isNaN(endsAt.getTime()) ? '' : exactly.format(endsAt);
}

function Meaning({ overlapHours }: { overlapHours: number }) {
  if (overlapHours > 0) {
    return (
      <p class="muted">
        Until then every post carries both signatures, so receivers with either secret take it. Give them the new one
        before it ends, and no post is missed.
      </p>
    );
  }
  return (
    <p class="notice notice-warning">
      <Icon name="alert" />
      <span>
        Receivers that know only the old secret refuse every post from now on until you give them the new one. What they
        refuse is tried again on the schedule.
      </span>
    </p>
  );
}

function Made({ secret, overlapHours, onClose }: { secret: string; overlapHours: number; onClose: () => void }) {
  return (
    <Dialog title="The new secret signs now" onClose={onClose}>
      <div class="dialog-body">
        <p>
          Give it to your receivers
          {overlapHours > 0 ? (
            <>
              {' '}
              before <strong>{endText(overlapHours)}</strong>, when the old one ends.
            </>
          ) : (
            ' now: the old one has ended.'
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
