import { Toasts } from './components/toasts.tsx';
import { useObservable } from './observable.ts';
import { session } from './session.ts';
import { OperatorShell, Shell } from './shell.tsx';
import { SignIn } from './views/sign-in/index.tsx';

/** Signing in keeps the URL, so a shared link opens its view after the form. */
export function App() {
  const active = useObservable(session);
  return (
    <>
      {active === null ? (
        <SignIn />
      ) : active.entityId === '' ? (
        <OperatorShell />
      ) : (
        <Shell key={active.entityId} session={active} />
      )}
      <Toasts />
    </>
  );
}
