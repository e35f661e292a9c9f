// Copies the link that was just made.
import { copyButtons } from "./copying.js";

copyButtons();
