import { useState } from 'preact/hooks';
import { DEFAULT_OVERLAP_HOURS, MAX_OVERLAP_HOURS } from '../../../domain/secret-overlap.ts';
import { inputError, paybell } from '../../api.ts';
import { Field } from '../../components/field.tsx';
import { CreatedDialog, FormDialog } from '../../components/form-dialog.tsx';
import { Icon } from '../../components/icon.tsx';
import { ApiRequests } from '../../components/view/api-requests.tsx';
import { OverlapTimeline } from './overlap-timeline.tsx';

const HOUR_MS = 3_600_000;
const dateTime = new Intl.DateTimeFormat(undefined, {
  ...{ day: 'numeric', month: 'short', year: 'numeric' },
  ...{ hour: '2-digit', minute: '2-digit', timeZoneName: 'short' },
});

/** The shared secret (`v1`), or the Ed25519 key (`v1a`). */
export type Rotated = 'secret' | 'key';

/** The thing that is rotated, and the operation that does it. */
export type Rotation = {
  readonly rotated: Rotated;
  readonly path: string;
  /** Returns what receivers verify with from now on. */
  readonly create: (overlapHours: number) => Promise<string | null>;
};

export const ENTITY_SECRET: Rotation = {
  rotated: 'secret',
  path: '/webhooks/secret/rotate',
  create: async (overlapHours) => (await paybell().secrets.rotate({ overlapHours })).secrets[0]?.secret ?? null,
};

export const ENTITY_KEY: Rotation = {
  rotated: 'key',
  path: '/webhooks/signing-key/rotate',
  create: async (overlapHours) =>
    (await paybell().secrets.rotateSigningKey({ overlapHours })).publicKeys[0]?.publicKey ?? null,
};

export function endpointSecret(endpointId: string): Rotation {
  return {
    rotated: 'secret',
    path: `/endpoints/${endpointId}/secret/rotate`,
    create: async (overlapHours) =>
      (await paybell().endpoints.rotateSecret(endpointId, { overlapHours })).secrets[0]?.secret ?? null,
  };
}

type RotateProps = { rotation: Rotation; onRotated: () => void; onClose: () => void };

/** Explains what the overlap means for receivers before the rotation. */
export function RotateDialog({ rotation, onRotated, onClose }: RotateProps) {
  const { rotated, path, create } = rotation;
  const [hours, setHours] = useState(String(DEFAULT_OVERLAP_HOURS));
  const [created, setCreated] = useState<string | null>(null);
  const overlapHours = Number(hours);

  const rotate = async () => {
    setCreated(await create(overlapHours));
    onRotated();
  };

  if (created !== null) {
    return (
      <CreatedDialog title={`New ${rotated} is active`} text={created} onClose={onClose}>
        <p>
          {overlapHours > 0 ? (
            <>
              Update your receivers before <strong>{endText(overlapHours)}</strong>, when the old {rotated} expires.
            </>
          ) : (
            `Update your receivers now. The old ${rotated} has expired.`
          )}
        </p>
      </CreatedDialog>
    );
  }
  return (
    <FormDialog
      title={`Rotate signing ${rotated}`}
      submit={{ label: `Rotate ${rotated}`, busy: 'Rotating…' }}
      onSubmit={rotate}
      onClose={onClose}
      fields={['overlapHours']}
    >
      {(problem) => (
        <>
          <Field
            label={`Keep the old ${rotated} active for`}
            error={inputError(problem, 'overlapHours')}
            hint={`0 to ${MAX_OVERLAP_HOURS} hours. If the ${rotated} has leaked, use 0 to expire it immediately.`}
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
          <OverlapTimeline rotated={rotated} overlap={overlapHours > 0} end={endText(overlapHours)} />
          <Consequences rotated={rotated} overlapHours={overlapHours} />
          <ApiRequests commands={[{ method: 'POST', path, body: { overlapHours } }]} />
        </>
      )}
    </FormDialog>
  );
}

function endText(overlapHours: number): string {
  const endsAt = new Date(Date.now() + overlapHours * HOUR_MS);
  return Number.isNaN(endsAt.getTime()) ? '' : dateTime.format(endsAt);
}

function Consequences({ rotated, overlapHours }: { rotated: Rotated; overlapHours: number }) {
  if (overlapHours > 0) {
    return (
      <p class="muted">
        Until then, every request carries both signatures, so receivers can verify it with either {rotated}.{' '}
        {rotated === 'secret'
          ? 'Update them before the old secret expires.'
          : 'Receivers that read the key set find the new key there. Update the others before the old key expires.'}
      </p>
    );
  }
  return (
    <p class="alert alert-warning">
      <Icon name="alert" />
      <span>
        Receivers that still use the old {rotated} will reject every request until{' '}
        {rotated === 'secret' ? 'you update them' : 'they read the key set again or you update them'}. Rejected
        deliveries are retried on schedule.
      </span>
    </p>
  );
}
