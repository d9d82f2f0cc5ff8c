/** Files of packages that Paybell only serves. Importing one gives its path, even in a compiled executable. */
declare module '*.css' {
  const path: string;
  export default path;
}

/** Imported as text. */
declare module '*.env.example' {
  const text: string;
  export default text;
}

declare module 'swagger-ui-dist/swagger-ui-bundle.js' {
  const path: string;
  export default path;
}
