import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { type ApiProblem, asProblem, inputError } from '../api.ts';
import { Dialog } from './dialog.tsx';
import { Form } from './inputs.tsx';
import { CopyButton } from './values/copy.tsx';
import { ProblemAlert } from './view/states.tsx';

type FormDialogProps = {
  title: string;
  wide?: boolean;
  /** The button, and its text while the request is in flight. */
  submit: {
    readonly label: string;
    readonly busy: string;
    readonly isDisabled?: boolean;
    readonly isDangerous?: boolean;
  };
  /** Sends the form. The dialog stays open and shows the problem if that fails. */
  onSubmit: (form: FormData) => Promise<void>;
  onClose: () => void;
  /** Names of the inputs that show what the server reports about them. */
  fields?: readonly string[];
  /** The content of the form as text. A change removes the problem of an earlier request. */
  said?: string;
  /** Another way to end the form, on the left of the buttons. */
  other?: { readonly label: string; readonly run: () => Promise<void> } | null;
  /** Stands on the left of the buttons and names the result. */
  summary?: ComponentChildren;
  children: (problem: ApiProblem | null) => ComponentChildren;
};

/** A form in a dialog. Problems without a field stand above the form. */
export function FormDialog({ title, wide = false, submit, onSubmit, onClose, fields = [], ...rest }: FormDialogProps) {
  const { said = '', other = null, summary, children } = rest;
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => setProblem(null), [said]);
  const isAtField = fields.some((name) => inputError(problem, name) !== null);

  const send = async (request: () => Promise<void>) => {
    setBusy(true);
    setProblem(null);
    try {
      await request();
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  };

  return (
    <Dialog title={title} onClose={onClose} wide={wide}>
      <Form onSubmit={(form) => void send(() => onSubmit(form))}>
        <div class="dialog-body">
          {problem !== null && !isAtField ? <ProblemAlert problem={problem} /> : null}
          {children(problem)}
        </div>
        <footer class="dialog-foot">
          {summary}
          {other === null ? null : (
            <button type="button" class="button dialog-foot-first" disabled={busy} onClick={() => void send(other.run)}>
              {other.label}
            </button>
          )}
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="submit"
            class={submit.isDangerous === true ? 'button button-danger' : 'button button-primary'}
            disabled={busy || submit.isDisabled === true}
          >
            {busy ? submit.busy : submit.label}
          </button>
        </footer>
      </Form>
    </Dialog>
  );
}

type CreatedProps = { title: string; text: string; onClose: () => void; children: ComponentChildren };

/** Shows a created secret or key, so that people can copy it. */
export function CreatedDialog({ title, text, onClose, children }: CreatedProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="dialog-body">
        {children}
        <SecretText text={text} />
      </div>
      <footer class="dialog-foot">
        <button type="button" class="button button-primary" onClick={onClose}>
          Done
        </button>
      </footer>
    </Dialog>
  );
}

/** A secret or a key, with its buttons. */
export function SecretText({ text, children }: { text: string; children?: ComponentChildren }) {
  return (
    <div class="secret-text">
      <code>{text}</code>
      <span class="actions">{children ?? <CopyButton text={text} label="Copy" />}</span>
    </div>
  );
}
