import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Field, type FieldProps } from './field.tsx';

type Labelled = Pick<FieldProps, 'label' | 'hint' | 'error'> & { field?: string };

type InputProps = Labelled & JSX.IntrinsicElements['input'];

/** A labelled input. `field` is the class of the field. */
export function TextField({ label, hint, error, field = '', ...input }: InputProps) {
  return (
    <Field {...{ label, hint, error }} class={field}>
      {(control) => <input type="text" {...input} {...control} />}
    </Field>
  );
}

type EndedProps = Labelled & {
  type: 'search' | 'datetime-local';
  class?: string;
  placeholder?: string;
  spellcheck?: boolean;
  maxLength?: number;
  step?: number;
  value: string;
  onEnd: (text: string) => void;
};

type EndedInput = Pick<JSX.IntrinsicElements['input'], 'value' | 'onInput' | 'onChange'>;

/** A text field that applies when its input ends. The typed text stays, even if the view is rendered again. */
export function EndedField({ value, onEnd, ...field }: EndedProps) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  const input: EndedInput = {
    value: typed,
    onInput: (event) => setTyped(event.currentTarget.value),
    onChange: (event) => onEnd(event.currentTarget.value),
  };
  return <TextField {...({ ...field, ...input } as InputProps)} />;
}

export type Option = readonly [value: string | number, label: string];

type SelectProps = Labelled & {
  /** The input of a form. Without one, `onChoose` takes the choice. */
  name?: string;
  value: string;
  options: readonly Option[];
  onChoose?: (value: string) => void;
};

/** A labelled choice. */
export function SelectField({ label, hint, error, field = '', name, value, options, onChoose }: SelectProps) {
  const input =
    onChoose === undefined
      ? { name }
      : { value, onChange: (event: { currentTarget: HTMLSelectElement }) => onChoose(event.currentTarget.value) };
  return (
    <Field {...{ label, hint, error }} class={field}>
      {(control) => (
        <select {...control} {...input}>
          {options.map(([choice, text]) => (
            <option key={choice} value={choice} selected={String(choice) === value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

type ActionsFormProps = { class?: string; onSubmit: (form: FormData) => void; children: ComponentChildren };

/** A form that the dashboard sends itself. */
export function Form({ class: className, onSubmit, children }: ActionsFormProps) {
  return (
    <form
      class={className}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit(new FormData(event.currentTarget));
      }}
    >
      {children}
    </form>
  );
}

/** The text of an input of a form, without white space around it. */
export function textIn(form: FormData, name: string): string {
  return String(form.get(name) ?? '').trim();
}
