import type { ComponentChildren } from 'preact';
import type { ApiProblem } from '../../api.ts';
import type { ResponseState } from '../../use-response.ts';
import { Failure, Loading, NotShown, ProblemAlert } from './states.tsx';

type LoadedProps<Data> = {
  response: Pick<ResponseState<Data>, 'data' | 'problem' | 'reload'>;
  what: string;
  children: (data: Data) => ComponentChildren;
};

/** Shows the data of a response, with the problem of a later request above, or that it is loading or why it failed. */
export function Loaded<Data>({ response: { data, problem, reload }, what, children }: LoadedProps<Data>) {
  if (data === null) return problem === null ? <Loading what={what} /> : <Failure problem={problem} reload={reload} />;
  return (
    <>
      {problem === null ? null : <ProblemAlert problem={problem} />}
      {children(data)}
    </>
  );
}

/** Why a part of a view is missing: something failed, or the API key may not read it. */
export function PartProblem({ problem, what }: { problem: ApiProblem | null; what: string }) {
  if (problem === null) return null;
  if (problem.permission === null) return <ProblemAlert problem={problem} />;
  return <NotShown what={what} permission={problem.permission} />;
}
