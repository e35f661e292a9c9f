// What browsers have and the library of TypeScript does not know.

interface Navigator {
  globalPrivacyControl?: boolean;
}

interface Window {
  hubbub?: { consent(): void; report(value: unknown): Promise<void> };
}
