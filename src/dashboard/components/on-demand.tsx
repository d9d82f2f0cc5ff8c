import type { FunctionComponent } from 'preact';
import { useResponse } from '../use-response.ts';
import { Loaded } from './view/loaded.tsx';

/** A component that the browser loads when it is first shown, because most visits do not need it. */
export function onDemand<Props extends object>(
  what: string,
  load: () => Promise<FunctionComponent<Props>>,
): FunctionComponent<Props> {
  return function OnDemand(props: Props) {
    const response = useResponse(what, async () => ({ Content: await load() }));
    return (
      <Loaded response={response} what={what}>
        {({ Content }) => <Content {...props} />}
      </Loaded>
    );
  };
}
