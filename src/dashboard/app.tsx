import { Toasts } from './components/toasts.tsx';
import { useStore } from './observable.ts';
import { session } from './session.ts';
import { Shell } from './shell.tsx';
import { SignIn } from './views/sign-in/index.tsx';

/** Whoever is not signed in gets the form at whatever address they came to, and then sees what they came for. */
export function App() {
  const who = useStore(session);
  return (
    <>
      {who === null ? <SignIn /> : <Shell key={who.entityId} session={who} />}
      <Toasts />
    </>
  );
}
