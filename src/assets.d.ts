/** Files that a package ships and we only serve: importing one gives its path, also in a compiled executable. */
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
