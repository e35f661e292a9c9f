// An answer for whoever reads it: its chart and its table come to life.
import { bringToLife } from "./answers.js";

bringToLife(document);
