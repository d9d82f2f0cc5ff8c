import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { type ApiProblem, asProblem, inputError } from '../api.ts';
import { Dialog } from './dialog.tsx';
import { ProblemAlert } from './view/states.tsx';

type FormDialogProps = {
  title: string;
  wide?: boolean;
  /** The button, and its text while the request is in flight. */
  submit: { readonly label: string; readonly busy: string; readonly isDisabled?: boolean };
  /** Sends the form. The dialog stays open and shows the problem if that fails. */
  onSubmit: (form: FormData) => Promise<void>;
  onClose: () => void;
  /** Names of the inputs that show what the server reports about them. */
  fields?: readonly string[];
  /** Stands on the left of the buttons and names the result. */
  summary?: ComponentChildren;
  children: (problem: ApiProblem | null) => ComponentChildren;
};

/** A form in a dialog. Problems without a field stand above the form. */
export function FormDialog({ title, wide = false, submit, onSubmit, onClose, fields = [], ...rest }: FormDialogProps) {
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [busy, setBusy] = useState(false);
  const isAtField = fields.some((name) => inputError(problem, name) !== null);

  const send = async (form: FormData) => {
    setBusy(true);
    setProblem(null);
    try {
      await onSubmit(form);
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  };

  return (
    <Dialog title={title} onClose={onClose} wide={wide}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void send(new FormData(event.currentTarget));
        }}
      >
        <div class="dialog-body">
          {problem !== null && !isAtField ? <ProblemAlert problem={problem} /> : null}
          {rest.children(problem)}
        </div>
        <footer class="dialog-foot">
          {rest.summary}
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="button button-primary" disabled={busy || submit.isDisabled === true}>
            {busy ? submit.busy : submit.label}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
