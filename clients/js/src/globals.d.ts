// What browsers have and the library of TypeScript does not know.

interface Navigator {
  globalPrivacyControl?: boolean;
}

interface Window {
  hubbub?: any;
}

/** The name of the second part of the script, with its hash; the build writes it. */
declare const MORE: string;
/** What that part must be. */
declare const INTEGRITY: string;
